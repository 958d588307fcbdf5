"""What happened in a run, for people: recordings, and a page to open in a browser.

Reads what runs have left on disk, of this program or of any other that writes ATIF, and is liberal about it.
"""
