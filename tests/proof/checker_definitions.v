(* What a certificate declares and defines, step by step: a run of steps always has values.

   The sizes, coordinates and slot that are given may have any values as assumed. *)

From Coq Require Import ZArith Lia List.
Import ListNotations.
Require Import checker_arithmetic.
Open Scope Z_scope.
Arguments Z.add : simpl never.
Arguments Z.mul : simpl never.
Arguments Z.sub : simpl never.

(* Statements: sizes are given by s, coordinates by d, and the slot is p. *)

Definition env (s d : nat -> Z) p x :=
  match x with Size i => s i | Coordinate k => d k | Slot => p end.
Definition none (_ : nat) := 0.
Definition sized s f := value (env s none 0) f.

Inductive given :=
  | IsSize (i : nat) (step least : Z) (most : option Z)
  | IsBelow (x : name) (n : formula)
  | IsNumber (x : name) (c : Z)
  | IsLimited (f n : formula).

Definition holds s d p g :=
  match g with
  | IsSize i step least most => (exists t, s i = step * t) /\ least <= s i /\
      (forall m, most = Some m -> s i <= m)
  | IsBelow x n => 0 <= env s d p x < sized s n
  | IsNumber x c => env s d p x = c
  | IsLimited f n => value (env s none p) f < sized s n
  end.

(* Runs: what is declared and defined, step by step. *)

Definition of_sizes S x := match x with Size _ => names S x | _ => None end.
Definition of_slot S p x := match x with Size _ => names S x | Slot => Some p | _ => None end.
Definition of_element S ds x :=
  match x with Size _ => names S x | Coordinate k => ds k | Slot => None end.
Definition coordinates S k := names S (Coordinate k).

Lemma name_dec (x y : name) : {x = y} + {x <> y}.
Proof. decide equality; apply Nat.eq_dec. Defined.

Definition count S := length (atoms S).
Definition with_atom x S := State (atoms S ++ [x]) (definitions S) (known S) (names S).
Definition with_definition x form S :=
  State (atoms S) ((x, form) :: definitions S) (known S) (names S).
Definition with_known x S := State (atoms S) (definitions S) (x :: known S) (names S).
Definition with_name x p S := State (atoms S) (definitions S) (known S)
  (fun y => if name_dec y x then Some p else names S y).
Definition declare n S :=
  with_atom {| low := 0; high := Some (minus n (number 1)); rounded := None |} S.

(* y follows from a fact: c * y + c - 1 is at least the fact, so c * y > -c. *)
Definition follows S y := shown S y \/ exists c fact, 1 <= c /\ In fact (known S) /\
  nonnegative S (minus (plus (number (c - 1)) (scale c y)) fact).

Inductive run : list given -> state -> Prop :=
  | run_start : run [] (State [] [] [] (fun _ => None))
  | run_size gs S i step least most : run gs S -> 1 <= step -> 1 <= least ->
      run (IsSize i step least most :: gs) (with_name (Size i) (scale step (atom (count S)))
        (with_atom {| low := - (- least / step);
                      high := option_map (fun m => number (m / step)) most;
                      rounded := None |} S))
  | run_fixed_size gs S i step least m : run gs S -> 1 <= step -> - (- least / step) = m / step ->
      run (IsSize i step least (Some m) :: gs) (with_name (Size i) (number (step * (m / step))) S)
  | run_below gs S x f n : run gs S -> reads S (of_sizes S) f n ->
      nonnegative S (minus n (number 1)) -> within (count S) n ->
      run (IsBelow x f :: gs) (with_name x (atom (count S)) (declare n S))
  | run_number gs S x c : run gs S -> run (IsNumber x c :: gs) (with_name x (number c) S)
  | run_limited gs S f n p q t : run gs S -> names S Slot = Some t -> reads S (of_slot S t) f p ->
      reads S (of_sizes S) n q -> within (count S) p -> within (count S) q ->
      run (IsLimited f n :: gs) (with_known (minus (minus q (number 1)) p) S)
  | run_some gs S n : run gs S -> nonnegative S (minus n (number 1)) -> within (count S) n ->
      run gs (declare n S)
  | run_split gs S a x h t n : run gs S -> nth_error (atoms S) a = Some x -> high x = Some h ->
      nonnegative S (minus (times t n) (plus h (number 1))) ->
      nonnegative S (minus t (number 1)) -> nonnegative S (minus n (number 1)) ->
      within (count S) t -> within (count S) n ->
      run gs (with_definition (atom a) (plus (atom (count S)) (times t (atom (1 + count S))))
        (declare n (declare t S)))
  | run_name gs S form n : run gs S ->
      lies_below S form n \/
        follows S form /\ follows S (minus (minus n (number 1)) form) ->
      within (count S) form -> within (count S) n ->
      run gs (with_definition (atom (count S)) form (declare n S))
  | run_rounded gs S i n l : run gs S -> 1 <= n -> nonnegative S (plus i (number (n - 1))) ->
      l = 0 \/ l = 1 /\ nonnegative S (minus i (number 1)) -> within (count S) i ->
      run gs (with_atom {| low := l; high := None; rounded := Some (i, n) |} S).

Definition whole S := sound (atoms S) /\
  (forall x form, In (x, form) (definitions S) -> within (count S) x /\ within (count S) form) /\
  (forall x, In x (known S) -> within (count S) x) /\
  (forall x p, names S x = Some p -> within (count S) p).

Lemma within_number k c : within k (number c).
Proof. intros d m a [[= <- <-] | []] []. Qed.

Lemma within_atom k a : (a < k)%nat -> within k (atom a).
Proof. intros L d m b [[= <- <-] | []] [<- | []]. trivial. Qed.

Lemma within_scale k c p : within k p -> within k (scale c p).
Proof.
  intros W d m a I. apply in_map_iff in I as [[e n] [[= <- <-] I]]. now apply (W e).
Qed.

Lemma within_plus k p q : within k p -> within k q -> within k (plus p q).
Proof.
  intros P Q d m a I. apply in_app_or in I as [I | I]; [now apply (P d) | now apply (Q d)].
Qed.

Lemma within_minus k p q : within k p -> within k q -> within k (minus p q).
Proof. intros P Q. apply within_plus; trivial. now apply within_scale. Qed.

Lemma within_times k p q : within k p -> within k q -> within k (times p q).
Proof.
  intros P Q d m a I J. apply in_flat_map in I as [[c n] [I K]].
  apply in_map_iff in K as [[e o] [[= <- <-] K]].
  apply in_app_or in J as [J | J]; [now apply (P c n) | now apply (Q e o)].
Qed.

#[local] Hint Resolve within_number within_scale within_plus within_minus within_times : core.

Lemma count_with x S : count (with_atom x S) = Datatypes.S (count S).
Proof. unfold count. cbn. rewrite app_length. cbn. lia. Qed.

(* A step leaves what was known, and has values for what it adds. *)
Definition extends S v S' w := whole S' /\ models w S' /\
  forall q, within (count S) q -> eval w q = eval v q.

(* A new atom may have any value within its bounds; what was known before stays true. *)
Lemma new_atom S v x t : whole S -> models v S ->
  0 <= low x -> (forall h, high x = Some h -> within (count S) h) ->
  (forall i n, rounded x = Some (i, n) -> within (count S) i) ->
  bounded (at_atom v (count S) t) (count S) x ->
  extends S v (with_atom x S) (at_atom v (count S) t).
Proof.
  intros (W & D & K & N) (P & B & MD & MK) L H R T.
  assert (E : forall p, within (count S) p -> eval (at_atom v (count S) t) p = eval v p).
  { intros p I. apply (eval_within (count S)); trivial. intros a A. unfold at_atom.
    now rewrite (proj2 (Nat.eqb_neq a (count S))) by lia. }
  assert (A : forall a y, nth_error (atoms S ++ [x]) a = Some y ->
    (a < count S)%nat /\ nth_error (atoms S) a = Some y \/ a = count S /\ y = x).
  { intros a y I. unfold count. destruct (Nat.lt_ge_cases a (length (atoms S))) as [C | C].
    - left. now rewrite nth_error_app1 in I.
    - right. rewrite nth_error_app2 in I by trivial.
      destruct (a - length (atoms S))%nat as [| [|]] eqn:Z; inversion I. split; trivial. lia. }
  split; [| split; [| trivial]].
  - split; [| split; [| split]].
    + intros a y I. apply A in I as [[C I] | [-> ->]]; auto.
    + intros y form I. rewrite count_with. destruct (D y form I). split; eapply within_more; eauto.
    + intros y I. rewrite count_with. eapply within_more; [now apply K | lia].
    + intros y p I. rewrite count_with. eapply within_more; [now apply (N y) | lia].
  - split; [| split; [| split]].
    + intros a. split.
      * unfold at_atom. destruct (Nat.eqb_spec a (count S)) as [-> |]; [| apply P].
        destruct T as [T _]. rewrite at_that_atom in T. lia.
      * intros y h c I HY C. apply A in I as [[J I] | [-> ->]].
        -- unfold at_atom. rewrite (proj2 (Nat.eqb_neq a (count S))) by lia.
           destruct (P a) as [_ Q]. now apply (Q y h).
        -- destruct T as (_ & T & _). rewrite <- (C (at_atom v (count S) t)). now apply T.
    + intros a y _ I. apply A in I as [[J I] | [-> ->]]; trivial.
      destruct (W a y I) as (_ & WH & WR). apply bounded_below; auto.
    + intros y form I. destruct (D y form I). rewrite !E by trivial. now apply MD.
    + intros y I. rewrite E by now apply K. now apply MK.
Qed.

Theorem variable_rule : forall S v n t, whole S -> models v S -> within (count S) n ->
  0 <= t < eval v n -> extends S v (declare n S) (at_atom v (count S) t).
Proof.
  intros S v n t W M N T. apply new_atom; cbn; auto; try discriminate; try lia.
  - intros h [= <-]. auto.
  - split; [| split; [| discriminate]]; cbn; rewrite at_that_atom; [lia |].
    intros h [= <-]. rewrite eval_minus, eval_number.
    rewrite (eval_within (count S) _ v n N); [lia |]. intros a A. unfold at_atom.
    now rewrite (proj2 (Nat.eqb_neq a (count S))) by lia.
Qed.

Lemma new_definition S v x form : whole S -> models v S -> within (count S) x ->
  within (count S) form -> eval v x = eval v form ->
  whole (with_definition x form S) /\ models v (with_definition x form S).
Proof.
  intros (W & D & K & N) (P & B & MD & MK) X F E. split.
  - split; [exact W | split; [| now split]]. intros y g [[= <- <-] | I]; [now split | now apply D].
  - split; [exact P | split; [exact B | split; [| exact MK]]].
    intros y g [[= <- <-] | I]; [exact E | now apply MD].
Qed.

Theorem follows_sound : forall S v y, sound (atoms S) -> models v S -> follows S y -> 0 <= eval v y.
Proof.
  intros S v y W M [F | (c & fact & C & I & F)]; [now apply (shown_sound S) |].
  apply (nonnegative_sound S v) in F; trivial. destruct M as (_ & _ & _ & K). specialize (K fact I).
  rewrite eval_minus, eval_plus, eval_number, eval_scale in F. nia.
Qed.
Lemma ceiling_step step least t : 1 <= step -> least <= step * t -> - (- least / step) <= t.
Proof.
  intros. enough (- t <= - least / step) by lia. apply Z.div_le_lower_bound; lia.
Qed.

Theorem size_rule : forall S v step least most t, whole S -> models v S ->
  1 <= step -> 1 <= least -> least <= step * t ->
  (forall m, most = Some m -> step * t <= m) ->
  extends S v (with_atom {| low := - (- least / step);
                            high := option_map (fun m => number (m / step)) most;
                            rounded := None |} S) (at_atom v (count S) t).
Proof.
  intros S v step least most t W M ST LE L H.
  assert (0 <= - (- least / step)).
  { enough (- least / step <= 0) by lia. enough (- least / step < 1) by lia.
    apply Z.div_lt_upper_bound; lia. }
  apply new_atom; cbn; trivial; try discriminate.
  - destruct most; intros h [= <-]. apply within_number.
  - split; [| split; [| discriminate]]; cbn; rewrite at_that_atom.
    + now apply ceiling_step.
    + destruct most as [m |]; intros h [= <-]. rewrite eval_number.
      apply Z.div_le_lower_bound; [lia | now apply H].
Qed.

Theorem name_rule : forall S v form n, whole S -> models v S ->
  lies_below S form n \/ follows S form /\ follows S (minus (minus n (number 1)) form) ->
  within (count S) form -> within (count S) n ->
  exists w, extends S v (with_definition (atom (count S)) form (declare n S)) w.
Proof.
  intros S v form n W M B F N. exists (at_atom v (count S) (eval v form)).
  assert (0 <= eval v form < eval v n).
  { destruct B as [B | [B C]]; [now apply (lies_below_sound S); [apply W | |] |].
    apply (follows_sound S v) in B, C; trivial; try apply W.
    rewrite !eval_minus, eval_number in C. lia. }
  destruct (variable_rule S v n (eval v form)) as (W' & M' & E); trivial.
  assert (C : count (declare n S) = Datatypes.S (count S)) by apply count_with.
  destruct (new_definition (declare n S) (at_atom v (count S) (eval v form)) (atom (count S)) form);
    trivial; rewrite ?C.
  - apply within_atom. lia.
  - eapply within_more; eauto.
  - now rewrite eval_atom, at_that_atom, E.
  - split; [| split]; trivial.
Qed.

Theorem split_rule : forall S v a x h t n, whole S -> models v S ->
  nth_error (atoms S) a = Some x -> high x = Some h ->
  nonnegative S (minus (times t n) (plus h (number 1))) ->
  nonnegative S (minus t (number 1)) -> nonnegative S (minus n (number 1)) ->
  within (count S) t -> within (count S) n ->
  exists w, extends S v (with_definition (atom a)
    (plus (atom (count S)) (times t (atom (1 + count S)))) (declare n (declare t S))) w.
Proof.
  intros S v a x h t n W M I H NH NT NN WT WN.
  apply (nonnegative_sound S v) in NH, NT, NN; trivial; try apply W.
  rewrite !eval_minus, ?eval_times, ?eval_plus, eval_number in *.
  assert (A : (a < count S)%nat) by (apply nth_error_Some; now rewrite I).
  assert (V : 0 <= v a <= eval v h).
  { destruct M as (P & B & _). destruct (B a x A I) as (_ & HB & _).
    split; [apply P | now apply HB]. }
  pose proof (Z.mod_pos_bound (v a) (eval v t)). pose proof (Z.div_mod (v a) (eval v t)).
  destruct (variable_rule S v t (v a mod eval v t)) as (W1 & M1 & E1); trivial; [lia |].
  set (v1 := at_atom v (count S) (v a mod eval v t)) in *.
  assert (C1 : count (declare t S) = Datatypes.S (count S)) by apply count_with.
  destruct (variable_rule (declare t S) v1 n (v a / eval v t)) as (W2 & M2 & E2); trivial.
  { rewrite C1. eapply within_more; eauto. }
  { rewrite E1 by trivial. split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; nia]. }
  set (v2 := at_atom v1 (count (declare t S)) (v a / eval v t)) in *.
  assert (C2 : count (declare n (declare t S)) = Datatypes.S (Datatypes.S (count S))).
  { unfold declare at 1. rewrite count_with. now rewrite C1. }
  exists v2.
  destruct (new_definition (declare n (declare t S)) v2 (atom a)
    (plus (atom (count S)) (times t (atom (1 + count S))))) as [W3 M3]; trivial; rewrite ?C2.
  - apply within_atom. lia.
  - apply within_plus; [apply within_atom; lia |].
    apply within_times; [eapply within_more; eauto | apply within_atom; lia].
  - assert (T2 : eval v2 t = eval v t).
    { rewrite E2, E1; trivial. rewrite C1. eapply within_more; eauto. }
    assert (A2 : eval v2 (atom a) = v a).
    { rewrite E2, E1, eval_atom; trivial; [| rewrite C1]; apply within_atom; lia. }
    assert (L2 : eval v2 (atom (count S)) = v a mod eval v t).
    { rewrite E2, eval_atom; [apply at_that_atom |]. rewrite C1. apply within_atom. lia. }
    rewrite eval_plus, eval_times, T2, A2, L2, eval_atom.
    unfold v2. rewrite C1. cbn [Nat.add]. rewrite at_that_atom. lia.
  - split; [| split]; trivial. intros q Q. rewrite E2, E1; trivial.
    rewrite C1. eapply within_more; eauto.
Qed.

Theorem rounded_rule : forall S v i n l, whole S -> models v S -> 1 <= n ->
  nonnegative S (plus i (number (n - 1))) ->
  l = 0 \/ l = 1 /\ nonnegative S (minus i (number 1)) -> within (count S) i ->
  exists w, extends S v (with_atom {| low := l; high := None; rounded := Some (i, n) |} S) w.
Proof.
  intros S v i n l W M N I L WI. set (t := - (- eval v i / n)).
  exists (at_atom v (count S) t).
  apply (nonnegative_sound S v) in I; trivial; try apply W. rewrite eval_plus, eval_number in I.
  assert (T : eval v i <= n * t <= eval v i + n - 1).
  { unfold t. pose proof (Z.div_mod (- eval v i) n). 
    pose proof (Z.mod_pos_bound (- eval v i) n). lia. }
  assert (E : eval (at_atom v (count S) t) i = eval v i).
  { apply (eval_within (count S)); trivial. intros a A. unfold at_atom.
    now rewrite (proj2 (Nat.eqb_neq a (count S))) by lia. }
  apply new_atom; cbn; trivial; try discriminate; try (destruct L; lia).
  - intros j m [= <- <-]. trivial.
  - split; [| split; [discriminate |]]; cbn; rewrite at_that_atom.
    + destruct L as [-> | [-> L]]; [enough (-1 < t) by lia; clear - N I T; nia |].
      apply (nonnegative_sound S v) in L; trivial; try apply W.
      rewrite eval_minus, eval_number in L. nia.
    + intros j m [= <- <-]. rewrite E. lia.
Qed.

Definition world v S s d p := whole S /\ models v S /\ matches v (names S) (env s d p).

Lemma matches_more S v w s d p : whole S ->
  (forall q, within (count S) q -> eval w q = eval v q) ->
  matches v (names S) (env s d p) -> matches w (names S) (env s d p).
Proof. intros (_ & _ & _ & N) E M x q I. rewrite E by now apply (N x). now apply M. Qed.

Lemma matches_sizes S v s d p : matches v (names S) (env s d p) ->
  matches v (of_sizes S) (env s none 0).
Proof. intros M [i | k |] q I; try discriminate. apply (M (Size i) q I). Qed.

Lemma matches_slot S v s d p q : matches v (names S) (env s d p) ->
  matches v (of_slot S q) (env s none (eval v q)).
Proof.
  intros M [i | k |] r I; try discriminate; [apply (M (Size i) r I) | now injection I as <-].
Qed.

Lemma matches_element S v s d p ds e : matches v (names S) (env s d p) ->
  (forall k q, ds k = Some q -> eval v q = e k) -> matches v (of_element S ds) (env s e 0).
Proof. intros M D [i | k |] r I; try discriminate; [apply (M (Size i) r I) | now apply D]. Qed.

Lemma named S v x q s d p : whole S -> within (count S) q -> models v S ->
  matches v (names S) (env s d p) -> eval v q = env s d p x -> world v (with_name x q S) s d p.
Proof.
  intros (W & D & K & N) Q M E V. split; [| split]; trivial.
  - split; [exact W | split; [exact D | split; [exact K |]]].
    intros y r. cbn. destruct (name_dec y x); [intros [= <-]; exact Q | apply N].
  - intros y r. cbn. destruct (name_dec y x) as [-> |]; [intros [= <-]; exact V | apply E].
Qed.

Lemma sized_sound S v s d p f q : world v S s d p -> reads S (of_sizes S) f q ->
  eval v q = sized s f.
Proof.
  intros (W & M & E) R. eapply reads_sound; eauto; [apply W | eapply matches_sizes; eauto].
Qed.

Theorem run_sound : forall gs S, run gs S -> forall s d p, Forall (holds s d p) gs ->
  exists v, world v S s d p.
Proof.
  intros gs S R s d p. induction R as [| gs S i step least most R IH ST LE
    | gs S i step least m R IH ST F | gs S x f n R IH RF N WN
    | gs S x c R IH | gs S f n q r t R IH T RF RN WQ WR | gs S n R IH N WN
    | gs S a x h t n R IH I H NH NT NN WT WN | gs S form n R IH N WF WN
    | gs S i n l R IH N NI L WI]; intros G;
    try (pose proof (Forall_inv G) as G0; apply Forall_inv_tail in G);
    try (destruct IH as [v (W & M & E)]; trivial).
  - exists (fun _ => 0). split; [| split; [| discriminate]].
    + split; [| split; [| split]]; cbn; try contradiction; try discriminate.
      intros a x A. destruct a; discriminate.
    + split; [| split; [| split]]; cbn; try contradiction.
      * intros a. split; [lia |]. intros x h c A. destruct a; discriminate.
      * intros a x A. cbn in A. lia.
  - destruct G0 as ([t T] & L & U). rewrite T in *.
    destruct (size_rule S v step least most t) as (W' & M' & E'); trivial.
    exists (at_atom v (count S) t). apply named; trivial.
    + rewrite count_with. apply within_scale, within_atom. lia.
    + now apply (matches_more S v).
    + rewrite eval_scale, eval_atom, at_that_atom. now rewrite <- T.
  - destruct G0 as ([t T] & L & U). specialize (U m eq_refl). rewrite T in *.
    exists v. apply named; trivial. rewrite eval_number. cbn. rewrite T.
    f_equal. pose proof (ceiling_step step least t ST L).
    assert (t <= m / step) by (apply Z.div_le_lower_bound; lia). lia.
  - pose proof (sized_sound S v s d p f n (conj W (conj M E)) RF) as V.
    cbn in G0. rewrite <- V in G0.
    destruct (variable_rule S v n (env s d p x)) as (W' & M' & E'); trivial.
    exists (at_atom v (count S) (env s d p x)). apply named; trivial.
    + unfold declare. rewrite count_with. apply within_atom. lia.
    + now apply (matches_more S v).
    + now rewrite eval_atom, at_that_atom.
  - exists v. apply named; trivial. cbn in G0. now rewrite eval_number.
  - exists v. pose proof (sized_sound S v s d p n r (conj W (conj M E)) RN) as V.
    assert (Q : eval v q = value (env s none p) f).
    { assert (PT : eval v t = p) by exact (E Slot t T). rewrite <- PT.
      eapply reads_sound; eauto; [apply W | eapply matches_slot; eauto]. }
    cbn in G0. destruct W as (W0 & D & K & NW), M as (P & B & MD & MK).
    split; [| split; [| exact E]].
    + split; [exact W0 | split; [exact D | split; [| exact NW]]].
      intros y [<- | I]; [| now apply K]. auto.
    + split; [exact P | split; [exact B | split; [exact MD |]]].
      intros y [<- | I]; [| now apply MK]. rewrite !eval_minus, eval_number. lia.
  - apply (nonnegative_sound S v) in N; trivial; try apply W. rewrite eval_minus, eval_number in N.
    destruct (variable_rule S v n 0) as (W' & M' & E'); trivial; [lia |].
    exists (at_atom v (count S) 0). split; [| split]; trivial. now apply (matches_more S v).
  - destruct (split_rule S v a x h t n) as (w & W' & M' & E'); trivial.
    exists w. split; [| split]; trivial. now apply (matches_more S v).
  - destruct (name_rule S v form n) as (w & W' & M' & E'); trivial.
    exists w. split; [| split]; trivial. now apply (matches_more S v).
  - destruct (rounded_rule S v i n l) as (w & W' & M' & E'); trivial.
    exists w. split; [| split]; trivial. now apply (matches_more S v).
Qed.
