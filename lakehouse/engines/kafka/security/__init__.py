"""How a company lets its users in: logins in the words of each client."""
