"""stub"""
QUESTIONS = ()
