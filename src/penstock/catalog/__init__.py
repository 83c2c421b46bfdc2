"""What has been declared, and what is known of types and functions."""
