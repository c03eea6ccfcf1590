"""What all sections of the settings share."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """No unknown keys, no changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
