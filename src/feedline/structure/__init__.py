"""What an element is: its structure, its types, and blocks of many elements."""
