from gateway_app.admin.agents import AgentAdmin
from gateway_app.admin.api_keys import ApiKeyAdmin
from gateway_app.admin.deliveries import DeliveryAdmin
from gateway_app.admin.erasures import PersonErasureAdmin
from gateway_app.admin.leases import LeaseAdmin
from gateway_app.admin.people import PersonAdmin
from gateway_app.admin.platforms import PlatformAdmin
from gateway_app.admin.policies import ResetPolicyAdmin

__all__ = [
    "AgentAdmin",
    "ApiKeyAdmin",
    "DeliveryAdmin",
    "LeaseAdmin",
    "PersonAdmin",
    "PersonErasureAdmin",
    "PlatformAdmin",
    "ResetPolicyAdmin",
]
