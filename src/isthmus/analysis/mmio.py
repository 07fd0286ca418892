ASKED = ()
