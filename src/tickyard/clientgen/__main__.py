"""`python -m tickyard.clientgen`: write the client's operations anew."""

from tickyard.clientgen.files import write

write()
