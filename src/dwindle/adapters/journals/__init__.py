"""Where events become durable."""
