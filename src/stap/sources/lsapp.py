NAME = "lsapp"
def sniff(head): return 0.0
def read(log, options): raise NotImplementedError
