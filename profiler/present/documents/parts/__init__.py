"""Parts that several documents share: a finding comes in, blocks go out."""
