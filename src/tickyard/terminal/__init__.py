"""The service in a terminal: any operation as readable text, and a live chart."""
