package io.fovea.explorer;

/** One operation of a feature, done by one hand. */
@FunctionalInterface
interface Step {
  void run(Life life, Hand hand) throws Exception;
}
