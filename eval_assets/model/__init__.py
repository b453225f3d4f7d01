"""The nouns: frozen values with no I/O, the only things that pass between layers."""
