"""What each study found: one module a study, whose functions make findings of its evidence."""
