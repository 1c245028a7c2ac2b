"""Looking for classes with a `__torch_function__` among what has been imported."""

from __future__ import annotations

from tests.compat.test_imports import run_in_alias


def test_modules_may_come_while_others_are_looked_through() -> None:
    """As when a thread imports: its entries come between those that are looked at."""
    out = run_in_alias("""
        import sys, threading, types
        from wengert.compat._answers import look_for_answers

        done = threading.Event()

        def come_and_go():
            while not done.is_set():
                for k in range(300):
                    sys.modules[f"transient_{k}"] = types.ModuleType("transient")
                for k in range(300):
                    del sys.modules[f"transient_{k}"]

        sys.setswitchinterval(1e-6)
        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            for _ in range(300):
                look_for_answers()
        finally:
            done.set()
            thread.join()
        print("looked")
    """)
    assert out.split() == ["looked"]
