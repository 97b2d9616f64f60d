package bank;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.RecordNotFoundException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class AccountController {
  private final Accounts accounts;

  AccountController(Accounts accounts) {
    this.accounts = accounts;
  }

  @PostMapping("/accounts/{number}")
  void open(@PathVariable long number, @RequestParam String owner, @RequestParam long cents) {
    accounts.open(number, owner, cents);
  }

  @GetMapping("/accounts/{number}")
  Account find(@PathVariable long number) {
    return accounts
        .find(number)
        .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
  }

  @PostMapping("/transfers")
  void transfer(@RequestParam long from, @RequestParam long to, @RequestParam long cents) {
    accounts.transfer(from, to, cents);
  }

  @ExceptionHandler(RecordNotFoundException.class)
  @ResponseStatus(HttpStatus.NOT_FOUND)
  void notFound() {}

  @ExceptionHandler(DuplicateKeyException.class)
  @ResponseStatus(HttpStatus.CONFLICT)
  void exists() {}
}
