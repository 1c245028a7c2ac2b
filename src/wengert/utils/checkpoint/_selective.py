SAC_IGNORED_OPS=set()
class CheckpointPolicy: pass
class SelectiveCheckpointContext: pass
def create_selective_checkpoint_contexts(): pass
