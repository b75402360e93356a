from tests.service.servers import farm, nursery
from tests.stores import postgres, store_url, usual_url

__all__ = ["farm", "nursery", "postgres", "store_url", "usual_url"]
