"""The pages, one file each: what they read, and what their forms do."""
