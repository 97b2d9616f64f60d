/** liburing and the functions of libc that Fovea calls. */
@SuppressWarnings("module") // io.fovea.engine is compiled after this module
module io.fovea.bindings {
  requires static org.jspecify;

  exports io.fovea.bindings to
      io.fovea.engine;
}
