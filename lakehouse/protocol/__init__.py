"""How tables change: stage, seal, audit, publish; and how what is read stays there."""
