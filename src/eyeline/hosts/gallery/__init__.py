"""The gallery: a folder of plain pages, one for every head of a model, that needs no server and no network."""
