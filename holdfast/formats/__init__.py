"""How the admin writes what Django writes by itself; a folder for each language."""
