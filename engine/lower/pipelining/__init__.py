"""Software pipelines and slots: stages, hazards, asynchronous copies, double buffers."""
