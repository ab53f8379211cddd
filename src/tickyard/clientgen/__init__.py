"""How the client's typed operations are written from the catalog. Nothing at run time imports it."""
