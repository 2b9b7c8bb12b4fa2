"""Parts that several documents share: findings come in, blocks go out."""
