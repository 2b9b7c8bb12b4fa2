"""What several verbs share: their options, how they print, and the files that they write."""
