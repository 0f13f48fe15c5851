"""Workers on a Ray cluster: the second backend of parallel map stages. Ray is imported only here.

    ClusterWorkers   the workers of one stage (workers.py): packs tasks, unpacks results
    WorkerPool       gives tasks to workers, and again after faults (pool.py)
    ActorGroup       the actors of a pool: of one process (actors.py), or of all that know its name (shared_actors.py)
    Worker           the actor (worker.py)
    objects          tasks and results as objects of the store, without a copy (objects.py)
    session          the connection to a cluster, or a local one (session.py)
"""
