"""What several features read: the registry, the equity quotes, pools and fills. Features never import each other."""
