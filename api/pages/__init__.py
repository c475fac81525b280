"""The pages, one file each: what they show, and what their forms do."""
