"""The ways to a server: SageMaker, plain HTTP, a process of our own; asked again while the caller still waits."""
