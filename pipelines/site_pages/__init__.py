"""The pages of the catalogue: a static site of releases that works from a folder, without a server and without a network."""
