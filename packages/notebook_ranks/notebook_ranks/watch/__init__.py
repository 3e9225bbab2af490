"""Whether ranks are slow or stuck, what they did differently, and how it is said."""
