"""Pages for the browser that need no network: their frame, tables, and plots as inline SVG."""
