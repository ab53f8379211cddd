"""What a filer has filed, in periods and statements, and how two amounts are held against each other."""
