"""What all sections of the settings share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

Property = Annotated[str | SecretStr, Field(union_mode="left_to_right")]


class Section(BaseModel):
    """What all sections share: no unknown keys, no changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
