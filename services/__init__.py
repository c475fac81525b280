"""What may be asked for: one function per request, called by the command line, the API and the tests alike."""
