"""The operator's console: the admin, themed, with pages of its own. Here because it looks at every app."""
