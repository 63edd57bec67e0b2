"""The predictive state controlled model of Hefny et al. 2018, in the order of the paper.

In the paper's sections ("Learning A Predictive State Controlled Model", then "Predictive State
Controlled Models With Random Fourier Features"):

    features        fourier_features, kernel_features, feature_maps, feature_set (Learn-RFF-PSR),
                    gram_features (HSE-PSR); instance_features: what any instance supplies
    S1 regression   stage_one: joint and conditional; importance: policies that are not blind
    S2 regression   stage_two, two_stage (Algorithm 1), system_map (W_sys and Q_0)
    filter          filter_step: conditioning on action and observation; history: entering midway
    prediction      predictor, with narx_term; initialisation: its weights by regression
    refinement      refinement/: "Model refinement by local optimization"; coordinates
    in use          runtime/: filter and predictor as they run live
"""
