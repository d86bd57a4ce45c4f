"""The version of this package, and of the OpenAPI document that it was written for."""

__version__ = "1.0.0"
