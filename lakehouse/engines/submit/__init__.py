"""Drivers elsewhere, one for a step: started, found again, watched, ended. `services.py` chooses who runs them."""
