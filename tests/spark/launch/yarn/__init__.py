"""On a real YARN: a ResourceManager and a NodeManager, with and without Kerberos."""
