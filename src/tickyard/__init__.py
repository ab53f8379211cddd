"""tickyard: data and execution preparation for tokenized US stocks on chain 4663."""
