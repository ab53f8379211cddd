"""What `make bench` runs: ratios between our code and a reference measured in the same minute."""
