"""What users meet: the command line, the report, the gallery, the app. Nothing is computed here."""
