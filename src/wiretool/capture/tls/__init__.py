"""TLS connections of which the secrets are known: ordered bytes of both sides in, their decrypted bytes out."""
