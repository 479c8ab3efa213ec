"""The machine behind one door: factors, products and passes over matrices, named as algebra."""
