package io.fovea.cli.console;

/** Answers requests for one method and path. */
@FunctionalInterface
public interface Route {
  /**
   * Answers a request.
   *
   * @param request the request
   * @return the answer
   * @throws Exception if there is none
   */
  Reply answer(Request request) throws Exception;
}
