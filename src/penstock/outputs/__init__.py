"""Where the changes of views go."""
