"""All that is declared, loaded from files, and the rules between declarations."""
