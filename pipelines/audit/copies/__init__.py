"""Texts that recur: equal, folded, disguised, nearly the same, inside longer ones; in one split or two."""
