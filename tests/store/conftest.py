from tests.stores import postgres, store_url, usual_url

__all__ = ["postgres", "store_url", "usual_url"]
